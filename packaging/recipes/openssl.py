"""Builds OpenSSL's static libraries for a target."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from recipes import commands, places
from recipes.sources import Source
from recipes.toolchain import Toolchain

# Railweave uses TLS 1.3, HMAC and SHA-256, and reads no configuration file.
_OPTIONS = ["no-shared", "no-tests", "no-module", "no-engine", "no-legacy", "no-autoload-config", "no-comp", "no-ssl3",
            "no-dtls", "no-tls1", "no-tls1_1", "no-srp", "no-psk", "no-ui-console", "no-cms", "no-ct", "no-ts",
            "no-ocsp", "no-cmp", "no-idea", "no-camellia", "no-aria", "no-seed", "no-sm2", "no-sm3", "no-sm4",
            "no-gost", "no-bf", "no-cast", "no-rc2", "no-rc4", "no-md4", "no-mdc2", "no-rmd160", "no-whirlpool"]


def build(source: Source, toolchain: Toolchain) -> Path:
    """Returns a folder with include/ and lib/libssl.a, lib/libcrypto.a. Builds once for each version, compiler
    and options."""
    prefix = places.WORK / toolchain.target.machine / "openssl"
    wanted = " ".join([source.sha256, toolchain.identity, *_OPTIONS])
    mark = prefix / "built_from"
    if mark.exists() and mark.read_text() == wanted:
        return prefix
    shutil.rmtree(prefix, ignore_errors=True)
    build_folder = prefix / "build"
    build_folder.mkdir(parents=True)
    # OpenSSL keeps its compiler's name and options as text, so they have no path.
    settings = {"PATH": f"{toolchain.folder}:{os.environ['PATH']}", "CC": "zig-cc", "AR": "zig-ar",
                "RANLIB": "zig-ranlib"}
    machine = toolchain.target.machine
    commands.run(f"configuring OpenSSL {machine}",
                 ["perl", source.folder / "Configure", toolchain.target.openssl, "--openssldir=/etc/ssl",
                  "--prefix=/usr", "--libdir=lib", "-O2", "-fPIC", "-fvisibility=hidden", *_OPTIONS],
                 cwd=build_folder, settings=settings)
    make = ["make", f"-j{os.cpu_count()}"]
    commands.run(f"building OpenSSL {machine}", [*make, "build_generated"], cwd=build_folder, settings=settings)
    commands.run(f"building OpenSSL {machine}", [*make, "libcrypto.a", "libssl.a"], cwd=build_folder,
                 settings=settings)
    _keep(source, build_folder, prefix)
    mark.write_text(wanted)
    return prefix


def _keep(source: Source, build_folder: Path, prefix: Path) -> None:
    """Headers are partly the source's, partly generated."""
    for place in (source.folder, build_folder):
        shutil.copytree(place / "include" / "openssl", prefix / "include" / "openssl", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.in"))
    (prefix / "lib").mkdir()
    for name in ("libssl.a", "libcrypto.a"):
        shutil.copy2(build_folder / name, prefix / "lib" / name)
    shutil.rmtree(build_folder)
