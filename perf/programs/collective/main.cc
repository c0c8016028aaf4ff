// One of nccl-tests' programs, on memory of the host: RAILWEAVE_OPERATION says which (CMakeLists.txt).
#include "collective/process.h"

int main(int argc, char** argv) {
  using namespace railweave::perf::collective;
  return run_program(RAILWEAVE_OPERATION(), argc, argv);
}
