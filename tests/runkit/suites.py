"""The suites: their build, their tests, and which suites run beside others."""

from dataclasses import dataclass, field


@dataclass
class Suite:
    name: str
    preset: str  # a preset of CMakePresets.json
    labels: str  # ctest labels, a regular expression; empty: building is the test
    limit_s: int  # limit of the whole suite, building excluded
    why: str
    targets: list = field(default_factory=lambda: ["all"])  # to build; patterns of names
    leave: str = ""  # names of tests that other suites run, a regular expression
    jobs: int = 1  # tests at once: 1 if they measure, as many as cores if they compute, more if they mostly wait
    optional: bool = False  # may have no tests
    on_request: bool = False  # runs only if named
    waits: bool = False  # the suite is often idle and measures nothing: the next build begins beside the suite
    again: bool = False  # failed tests of label timing run again alone
    folder: str = ""  # folder of the build where ctest runs and keeps its log; two suites at once need two
    beside: str = ""  # suite beside which this one runs, at idle priority, if both run

OLD_NET = "/v(6|7|8|9|10|11)(_| |$)"  # under sanitizers the newest net version represents all
# Tests of a child of a process with threads. tsan allows no new threads there, and asan's allocator may stay locked in
# the child.
FORKED = "a_child_of_an_engine_may_make_its_own|a_child_may_make_groups_of_its_own"
RESET = "reset_lanes_end_no_request"  # tsan does not allow a test to disconnect another thread's socket
SANITIZED = ["unit_*", "contract", "engine*", "nccl_*", "railweave_net*"]
# Tests of the other units have one thread.
THREADED = ["unit_base", "unit_discovery", "unit_engine", "engine*", "nccl_*", "railweave_net*"]
OF_ONE_THREAD = "unit_(protocol|wire|info|deploy|explain|top)\\.part"  # and therefore not built for THREADED
# Wires whose lanes have no thread beside their caller's, and wires that another of the suite stands for. One wire that
# has none stays: message. (Opening a lane of ofi_rxm takes seconds under tsan.)
SAME_THREAD = "^Wires/Lane.*/(message_|ofi_rxm|shm|sim|tcp|tls|toy|verbs_fake_refusing)|contract_libfabric_2"
# Tests that sanitizers leave out. Most would test the sanitizer: its memory is no measure of ours, and without
# descriptors ubsan cannot read its own tables and reports every virtual call. SmallWorlds takes minutes on one thread.
# The filter in tests/unit/CMakeLists.txt names those of tests/unit once more: change both.
UNSANITARY = "Exhaust|without_descriptors|no_descriptor|engine\\.Bounds\\.|lab_engine_shortage|SmallWorlds"
# Programs that the lab's tests start. Open MPI's part is left out, since its own leaks would be reported; its tests are
# skipped where it is not built.
LAB_PROGRAMS = ["railweave_net*", "railweave", "net_perf", "raw_tcp", "nccl_tests", "all_gather_perf",
                "all_reduce_perf", "reduce_scatter_perf", "alltoall_perf"]
# Lab tests of the lab itself and of tools/bench, which run no program of ours, and one that emulates a processor.
LAB_ITSELF = "lab_(spec|bench|host_table|run|steps|traffic|teardown|shapes|faults|gpu_losses)|rdma_contract"
LEAKY = "lab_wires"  # libfabric 1.17 leaks memory with each endpoint
# Group tests that sanitizers leave out; few ranks over each wire remain. The executor among many ranks takes minutes on
# one thread.
LARGE_GROUPS = ("collectives\\.(.*Execution|.*HundredsOfRanks|.*Operations.*/([1245678]_tcp|[1345678]_shm)"
                "|.*a_thousand_come_and_go)")
SUITES = [
    Suite("tidy", "release", "^tidy$", 300, "layers, headers and the rules of the sources", jobs=2),
    Suite("unit", "release", "^unit$", 300, "each layer by itself", jobs=2),
    Suite("contract", "release", "^contract$", 300, "every wire keeps wire.h's promises", jobs=2),
    Suite("sim", "release", "^sim$", 420, "the protocol and credit windows among many hosts in virtual time, seeded",
          ["sim_tests", "sim_credit"], jobs=2),
    Suite("engine", "release", "^engine$", 300, "engines over real sockets on loopback", jobs=3, waits=True),
    Suite("collectives", "release", "^collectives$", 420, "kernels, schedules and groups of ranks", jobs=3, waits=True,
          optional=True),
    Suite("nccl", "release", "^nccl$", 600, "the plugin as NCCL's proxy drives it", jobs=3, waits=True),
    Suite("corpus", "release", "^fuzz$", 120, "the fuzz targets over their committed inputs"),
    Suite("perf", "release", "^perf$", 300, "the measuring programs, on a plugin without an engine", again=True),
    Suite("lab", "release", "^lab$", 1200, "several hosts and NICs, in network namespaces", jobs=3, waits=True,
          again=True),
    Suite("torch", "torch", "^torch$", 900, "the torch.distributed backend, from Python", jobs=2, waits=True,
          again=True),
    Suite("asan", "asan", "^(unit|contract|engine|nccl|collectives)$", 900, "memory, undefined acts",
          [*SANITIZED, "collectives_collectives", "collectives_kernels"],
          f"{OLD_NET}|{FORKED}|{UNSANITARY}|{LARGE_GROUPS}", 4, waits=True),
    Suite("fuzz", "asan", "^fuzz$", 240, "each fuzz target for six seconds, from its committed inputs on",
          ["fuzz_*"], jobs=2),
    Suite("tsan", "tsan", "^(unit|contract|engine|nccl|collectives)$", 1080, "data races",
          [*THREADED, "contract", "collectives_collectives"],
          f"{OLD_NET}|{FORKED}|{RESET}|{UNSANITARY}|{LARGE_GROUPS}|{OF_ONE_THREAD}|{SAME_THREAD}", 4),
    Suite("rdma", "release", "^rdma$", 7200, "RDMA in software (rxe), in VMs: NCCL's proxy, many comms, faults",
          ["contract", "net_perf", "nccl_tests", "railweave_net"], jobs=2, on_request=True),
    Suite("rdma-torch", "torch", "^rdma$", 1200, "the torch.distributed backend over RDMA in software, in a VM",
          ["railweave_torch"], on_request=True),
    Suite("explain", "torch", "^explain$", 900, "twenty hung jobs: `railweave explain` names each culprit",
          ["railweave_torch", "railweave"], on_request=True),
    # Suites of `make soak`: sim and fuzz for longer and with new seeds.
    Suite("day", "release", "^day$", 5400, "a day of 64 simulated hosts, on one processor", ["sim_tests"],
          on_request=True, waits=True),
    Suite("worlds", "release", "^worlds$", 1500, "simulated hosts: new seeds, ten minutes twice", ["sim_tests"],
          on_request=True, folder="tests/sim", beside="day"),
    Suite("deep", "asan", "^deep$", 1500, "each fuzz target for twenty minutes, all at once", ["fuzz_*"], jobs=9,
          on_request=True, beside="day"),
    # Suites that run or build completely what `make test` does in part: the other compiler, every version of the net,
    # the lab.
    Suite("clang-all", "clang-alone", "", 1,
          "a second compiler and its warnings: tests and programs too, each file by itself", on_request=True),
    Suite("asan-all", "asan", "^(unit|contract|engine|nccl)$", 1500, "memory, undefined acts: every net version",
          SANITIZED, f"{FORKED}|{UNSANITARY}", 2, on_request=True),
    Suite("asan-lab", "asan", "^lab$", 1500, "memory, undefined acts, between the lab's hosts", LAB_PROGRAMS,
          f"{LAB_ITSELF}|{UNSANITARY}|{LEAKY}", 2, on_request=True),
    Suite("tsan-all", "tsan", "^(unit|contract|engine|nccl)$", 1500, "data races: every net version", SANITIZED,
          f"{FORKED}|{RESET}|{UNSANITARY}", 2, on_request=True),
    Suite("tsan-lab", "tsan", "^lab$", 1500, "data races between the lab's hosts", LAB_PROGRAMS,
          f"{LAB_ITSELF}|{UNSANITARY}", 2, on_request=True),
]
