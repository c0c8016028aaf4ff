"""The rules that check.py enforces. To change a rule, edit it here and give the reason in the commit."""

import re
from dataclasses import dataclass

# Layers that a layer may include ("an arrow in docs/internals/architecture.md"), besides itself. `railweave` is
# include/.
LAYERS = {
    "railweave": [],
    "base": ["railweave"],
    "protocol": ["base", "railweave"],
    "wire": ["base", "railweave"],
    "discovery": ["base", "railweave"],
    "engine": ["protocol", "wire", "discovery", "base", "railweave"],
    "nccl": ["engine", "base", "railweave"],
    "collectives": ["base", "railweave", "hwy"],
    "torch_ext": ["collectives", "base", "railweave"],
}

FILE_LINES_MAX = 450
TEST_FILE_LINES_MAX = 550  # a sequence of cases stays readable at more lines
FUNCTION_LINES_MAX = 75
COLUMNS_MAX = 120
FOLDERS = r"plugin/engine(/.*)?|collectives(/.*)?"
FOLDERS_UNLESS = r"collectives/schedule/algorithms"  # one algorithm a file
FOLDER_HEADERS_MAX = 14

# Words without meaning in the name of a file or a class.
BANNED_WORDS_IN_NAMES = ["util", "utils", "manager", "helper", "helpers", "impl", "misc", "common_defs"]
CXX_FILE_NAME = re.compile(r"[a-z][a-z0-9_]*\.(h|cc)")


@dataclass
class Pattern:
    """A pattern that no line may match. Comments and strings are left out unless in_comments."""

    pattern: str
    instead: str  # the remedy
    where: str  # paths, a regular expression matched from the start
    unless: str = r"(?!)"  # paths left out, in the same form
    in_comments: bool = False  # also check comments and strings


CXX = r".*\.(h|cc)$"
SOURCES = r"(plugin|include|collectives|torch_ext)/.*\.(h|cc)$"  # programs, which may print, are in perf/programs
PROTOCOL = r"(plugin/protocol|collectives/schedule|collectives/scheduler)/"

PATTERNS = [
    Pattern(r"\b(secure_)?getenv\b|\benviron\b|\bsetenv\b",
            "read the environment through Config (plugin/base/config.cc)", SOURCES, r"plugin/base/"),
    Pattern(r"#\s*include\s*<(sys/.*|netinet/.*|arpa/.*|linux/.*|net/.*|unistd\.h|fcntl\.h|poll\.h|signal\.h|"
            r"pthread\.h|time\.h|ctime|thread|mutex|shared_mutex|condition_variable|future|semaphore|iostream|"
            r"fstream|cstdio|filesystem|random)>",
            "the protocol does no I/O, reads no clock, starts no thread: let it come in as an argument", PROTOCOL),
    Pattern(r"#\s*include\s*[<\"]base/(clock|fd|random)\.h[>\"]",
            "time, descriptors and randomness come to the protocol as arguments", PROTOCOL),
    Pattern(r"\b(steady_clock|system_clock|high_resolution_clock)\b|\bnow\(\)|\bclock_gettime\b",
            "time comes to the protocol as an argument", PROTOCOL),
    Pattern(r"\b(system_clock|high_resolution_clock|steady_clock)\b", "use base/clock.h: one clock, CLOCK_MONOTONIC",
            SOURCES),
    Pattern(r"\bstd::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs|perror)\(|\bfmt::print\b",
            "a library is silent: log through base/log.h", SOURCES),
    Pattern(r"\bvolatile\b", "volatile does not synchronise: use std::atomic and argue the order", SOURCES),
    Pattern(r"\bthrow\b(?!\s*;)", "errors are values: return a Status", SOURCES),
    Pattern(r"#\s*define\s+private\b|#\s*define\s+protected\b", "test through public calls", CXX),
    Pattern(r"^\s*using\s+namespace\b", "name what you use: a header's using reaches every file", r".*\.h$"),
    Pattern(r"#\s*include\s*[<\"]([^>\"]*/)?\.\.?/", "write includes from the roots include/ and plugin/", CXX),
    Pattern(r"#\s*include\s*[^<\"\s]", "write the name of the included file, not a macro", CXX),
    Pattern(r"#\s*include\s*[<\"](CLI|nlohmann)/", "the plugin must stay light: this belongs in programs", SOURCES,
            r"plugin/engine/stats/stats_from_json\.cc$"),
    Pattern(r"#\s*include\s*[<\"]openssl/", "only plugin/engine/admission/secret.cc and "
            "plugin/wire/bootstrap/tls_*.cc use OpenSSL: they wipe secrets and compare tags in constant time",
            SOURCES, r"plugin/(engine/admission/secret|wire/bootstrap/tls_(context|stream))\.cc$"),
    Pattern(r"#\s*include\s*[<\"]wire/(tcp|shm|sim|verbs|ofi|message)/",
            "the engine knows no wire by name: plugin/engine/rails/wires.cc has the table",
            r"plugin/(engine|nccl)/.*", r"plugin/engine/rails/wires\.cc$"),
    Pattern(r"#\s*include\s*[<\"]wire/sim/", "the simulator is for tests: no shipped library has it", SOURCES,
            r"plugin/wire/sim/"),
    Pattern(r"(\.|->)\s*(a|b|aux)\b(?!\s*\()", "name the field by its type of frame: plugin/protocol/frame_fields.h",
            r"plugin/(protocol|engine)/.*\.(h|cc)$", r"plugin/protocol/frame(_fields)?\.(h|cc)$"),
    Pattern(r"\b__SANITIZE_\w+|\b__has_feature\b", "only one compiler has this macro: ask RW_ASAN or RW_TSAN of "
            "CMakeLists.txt; tests include tests/sanitizers.h", CXX),
    Pattern(r"clang-format (on|off)\b", "clang-format lays out all C++", CXX, in_comments=True),
    Pattern(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", "do it, or open an issue", r".*", in_comments=True),
]

# GoogleTest: TEST(Subject, what_holds) or TEST(Subject, function__what_holds); Python: test_what_holds.
TEST_NAME = re.compile(r"[a-z0-9][A-Za-z0-9]*(_[A-Za-z0-9]+)*(__[A-Za-z0-9]+(_[A-Za-z0-9]+)*)?")
TEST_SUITE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
TEST_NAME_CHARACTERS_MAX = 60

# Pages whose running text prose.py checks. Decisions are records of their day and stay unchanged.
PROSE_PAGES = r"(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md$|docs/(?!decisions/).*\.md$"
SENTENCE_WORDS_MAX = 40
SENTENCE_WORDS_MEAN_MAX = 20
# First words of comments and docstrings that stand for a subject, or leave it out. A comment behind code may begin with
# one of them in lower case: `int bytes;  // of each lane`.
COMMENT_BEGINNINGS_BANNED = {"it", "its", "likewise", "of", "such", "that", "they", "those", "who", "whoever"}

# Identifiers of the first edition and their replacements (docs/glossary.md). English words are not banned.
RENAMED = {
    "AbsenceTold": "LoggedAbsences",
    "BackOff": "Backoff",
    "Birthplace": "ProcessOrigin",
    "BoardLine": "ShmQueue",
    "BoardMemory": "ShmMemory",
    "Doors": "RailListeners",
    "Errands": "BackgroundWorker",
    "Footing": "LinkKind",
    "Hearing": "AckStatus",
    "HeldTime": "QueueingBound",
    "Knock": "PeerProbe",
    "LaneHearing": "LaneAcks",
    "LaneHope": "ReconnectGrace",
    "LanePace": "DrainRate",
    "LanePacing": "LaneDrain",
    "LaneSign": "LaneLiveness",
    "LaneUpkeep": "LaneReconciler",
    "Launches": "StagingQueue",
    "LiveSession": "Session",
    "LocalDoor": "UnixListener",
    "MeetingPlace": "Rendezvous",
    "PeerPulse": "PeerHeartbeat",
    "RailNews": "RailUpdates",
    "RailRest": "RailBackoff",
    "Recall": "SlowLaneDetector",
    "SendTurns": "RoundRobin",
    "Standstill": "ProgressReport",
    "StatsDoor": "StatsEndpoint",
    "Ticket": "OperationWork",
    "hurried_below_": "expedited_below_",
    "judge_silence": "detect_silent_lanes",
    "lands_watched": "is_read_while_landing",
    "send_on_errand": "run_in_background",
    "start_quietly": "start_service_thread",
    "stillborn": "fenced_early",
    "take_robbed": "take_reassigned",
}
# Words of the first edition that no identifier or comment of code has, nor a word of a longer identifier.
OLD_WORDS = {"door": "listener", "errand": "background work", "knock": "peer probe", "ticket": "request",
             "upkeep": "reconciler"}
OLD_WORDS_OF_OTHERS = ("SSL_",)  # beginnings of identifiers
RENAMED_UNLESS = ("docs/decisions/", "perf/results/", "tests/gpu/results/", "tests/tidy/",
                  "tests/fuzz/seeds.cc")  # its strings are the corpus
