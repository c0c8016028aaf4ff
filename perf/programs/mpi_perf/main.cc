// mpi_perf: times an MPI library's all-gather, reduce-scatter and all-reduce as perf/programs/collective times ours.
// Equal are the sizes and their rounding, the rotation of memory, and the mean over ranks of the mean over iterations.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/output_file.h"
#include "common/sizes.h"

namespace railweave::perf {
namespace {

using nlohmann::json;

struct Options {
  std::string operation = "all_reduce", min_text = "8", max_text = "1M", json_path;
  int iterations = 20, warmup = 1;
};

struct Job {
  std::string operation;
  int rank = 0, ranks = 1;
  std::size_t capacity = 0;  // bytes of each
  std::vector<float> send, receive;
};

// Runs one operation on `bytes` of memory in total (all-gather: of output, reduce-scatter: of input).
void once(Job& job, std::size_t bytes, std::size_t index) {
  const std::size_t parts = bytes > 0 ? std::max<std::size_t>(job.capacity / bytes, 1) : 1;
  const std::size_t offset = index % parts * (bytes / sizeof(float));
  const auto count = int(bytes / sizeof(float)), share = count / job.ranks;
  float* const send = job.send.data() + offset;
  float* const receive = job.receive.data() + offset;
  if (job.operation == "all_gather") {
    MPI_Allgather(send, share, MPI_FLOAT, receive, share, MPI_FLOAT, MPI_COMM_WORLD);
  } else if (job.operation == "reduce_scatter") {
    MPI_Reduce_scatter_block(send, receive, share, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Rounds a size as nccl-tests and perf/programs/collective do.
std::size_t rounded(const Job& job, std::size_t bytes) {
  if (job.operation == "all_reduce") return bytes / sizeof(float) * sizeof(float);
  return bytes / std::size_t(job.ranks) / 16 * 16 * std::size_t(job.ranks);
}

json measure(Job& job, const Options& options, std::size_t asked) {
  const std::size_t bytes = rounded(job, asked);
  once(job, bytes, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const TimePoint start = now();
  for (int i = 0; i < options.iterations; ++i) once(job, bytes, std::size_t(i));
  const double mine_s = std::chrono::duration<double>(now() - start).count() / options.iterations;
  double sum_s = 0;
  MPI_Allreduce(&mine_s, &sum_s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = sum_s / job.ranks, algbw = double(bytes) / seconds / 1e9;
  const double share = double(job.ranks - 1) / job.ranks;
  const double busbw = algbw * (job.operation == "all_reduce" ? 2 * share : share);
  return {{"size", bytes}, {"out_of_place", {{"time", seconds * 1e6}, {"alg_bw", algbw}, {"bus_bw", busbw}}}};
}

int run(const Options& options) {
  auto least = parse_size(options.min_text), most = parse_size(options.max_text);
  if (!least.ok() || !most.ok() || *least == 0 || *most > (std::size_t{1} << 32)) {
    say(stderr, "-b {}, -e {}: expected sizes from 1 to 4G\n", options.min_text, options.max_text);
    return 2;
  }
  Job job;
  job.operation = options.operation;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.capacity = rounded(job, *most);
  job.send.assign(job.capacity / sizeof(float) + 1, 1);
  job.receive.assign(job.capacity / sizeof(float) + 1, 0);
  for (std::size_t bytes = *least; bytes <= *most; bytes *= 2) {
    for (int i = 0; i < options.warmup; ++i) once(job, rounded(job, bytes), std::size_t(i));
  }
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  json document{
      {"program", "mpi_perf"}, {"operation", job.operation}, {"library", library}, {"results", json::array()}};
  if (job.rank == 0) say("{:>12} {:>12} {:>10} {:>10}\n", "bytes", "us", "algbw", "busbw");
  for (std::size_t bytes = *least; bytes <= *most; bytes *= 2) {
    document["results"].push_back(measure(job, options, bytes));
    const json& figures = document["results"].back()["out_of_place"];
    if (job.rank == 0) {
      say("{:>12} {:>12.2f} {:>10.3f} {:>10.3f}\n", bytes, figures["time"].get<double>(),
          figures["alg_bw"].get<double>(), figures["bus_bw"].get<double>());
    }
  }
  if (job.rank != 0 || options.json_path.empty()) return 0;
  const Status written = write_output_file(options.json_path, document.dump(1) + '\n');
  if (!written.ok()) say(stderr, "{}\n", written.message());
  return written.ok() ? 0 : 1;
}

}  // namespace
}  // namespace railweave::perf

int main(int argc, char** argv) {
  using namespace railweave::perf;
  occupy_standard_streams();
  CLI::App app{
      "Times an MPI library's collectives on float32, as perf/programs/collective times ours. Started by mpirun.",
      "mpi_perf"};
  Options options;
  app.add_option("--operation", options.operation, "all_gather, reduce_scatter or all_reduce")
      ->check(CLI::IsMember({"all_gather", "reduce_scatter", "all_reduce"}))
      ->capture_default_str();
  app.add_option("-b,--minbytes", options.min_text, "smallest size; each next one is twice as large")
      ->capture_default_str();
  app.add_option("-e,--maxbytes", options.max_text, "largest size")->capture_default_str();
  app.add_option("-n,--iters", options.iterations, "timed at each size")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", options.warmup, "before them")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--json", options.json_path, "write what was measured there");
  if (const auto exit_status = parse_command_line(app, argc, argv)) return *exit_status;
  MPI_Init(&argc, &argv);
  const int exit_status = status_of_output(run(options));
  MPI_Finalize();
  return exit_status;
}
