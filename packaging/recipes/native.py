"""Builds the plugin and the programs for a target, and puts what is shipped into one folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from recipes import commands, debug_info, openssl, places
from recipes.sources import Source
from recipes.targets import Target
from recipes.toolchain import Toolchain, toolchain

# Files of the build: their place in a package, and the target of CMake.
SHIPPED = {
    "bin/railweave": ("railweave", "bin/railweave"),
    "bin/railweave-net-perf": ("net_perf", "bin/net_perf"),
    "lib/libnccl-net-railweave.so": ("railweave_net", "lib/libnccl-net-railweave.so"),
}


def _definitions(tools: Toolchain, ssl: Path, sources: dict[str, Source]) -> dict[str, str | Path]:
    headers = " ".join(f"-isystem {sources[name].folder}/usr/include" for name in ("libibverbs", "libfabric"))
    return {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": tools.target.machine,
        "CMAKE_C_COMPILER": tools.folder / "zig-cc",
        "CMAKE_CXX_COMPILER": tools.folder / "zig-c++",
        "CMAKE_AR": tools.folder / "zig-ar",
        "CMAKE_RANLIB": tools.folder / "zig-ranlib",
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "CMAKE_CXX_FLAGS_RELWITHDEBINFO": f"-O2 -g1 -fstack-protector-strong {headers}",
        "CMAKE_EXE_LINKER_FLAGS": "-pie -Wl,-z,now -Wl,-z,relro -Wl,--build-id=sha1",
        "CMAKE_MODULE_LINKER_FLAGS": "-Wl,--build-id=sha1",
        "CMAKE_UNITY_BUILD": "ON",
        "CMAKE_UNITY_BUILD_BATCH_SIZE": "8",
        "CMAKE_PROJECT_TOP_LEVEL_INCLUDES": places.PACKAGING / "pinned_headers.cmake",
        "RAILWEAVE_PINNED": places.WORK / "sources",
        "RAILWEAVE_TESTS": "OFF",
        "RW_LIBSSL_STATIC": ssl / "lib/libssl.a",
        "RW_LIBCRYPTO_STATIC": ssl / "lib/libcrypto.a",
        "RW_OPENSSL_INCLUDE": ssl / "include",
        "OPENSSL_CRYPTO_LIBRARY": ssl / "lib/libcrypto.a",
        "OPENSSL_INCLUDE_DIR": ssl / "include",
        "OPENSSL_USE_STATIC_LIBS": "ON",
        "CMAKE_DISABLE_FIND_PACKAGE_MPI": "ON",
    }


def _build_folder(tools: Toolchain) -> Path:
    """Returns the folder of the build. Files that another compiler made are removed: ninja would keep them."""
    folder = places.WORK / tools.target.machine / "build"
    mark = folder / "compiler"
    if not mark.exists() or mark.read_text() != tools.identity:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        mark.write_text(tools.identity)
    return folder


def build(target: Target, sources: dict[str, Source]) -> Path:
    """Returns a folder with the files of SHIPPED, stripped, and lib/debug/ with their debug information. Errors:
    CommandFailed."""
    tools = toolchain(target)
    ssl = openssl.build(sources["openssl"], tools)
    folder = _build_folder(tools)
    defined = [f"-D{name}={value}" for name, value in _definitions(tools, ssl, sources).items()]
    commands.run(f"configuring {target.machine}", ["cmake", "-G", "Ninja", "-S", places.ROOT, "-B", folder, *defined])
    commands.run(f"building {target.machine}",
                 ["ninja", "-C", folder, f"-j{os.cpu_count()}", *(name for name, _ in SHIPPED.values())])
    stage = places.WORK / target.machine / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    for place, (_, built) in SHIPPED.items():
        (stage / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / built, stage / place)
        debug_info.split(stage / place, stage / "lib" / "debug")
    return stage
