// One of nccl-tests' programs, on host memory. RAILWEAVE_OPERATION selects the operation (CMakeLists.txt).
#include "collective/process.h"

int main(int argc, char** argv) {
  using namespace railweave::perf::collective;
  return run_program(RAILWEAVE_OPERATION(), argc, argv);
}
