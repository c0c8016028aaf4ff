#!/usr/bin/env python3
"""Validates manifests of `railweave deploy render` under strict schemas, and shows that each misspelt key is found.

Objects of Kubernetes itself are judged by kubernetes-validate, version by version. Kinds that other projects define are
judged by the schemas in tests/deploy/schemas, which know only what our manifests use, so that no other key passes. The
pods inside these kinds are judged by the schemas of Kubernetes.

Needs the packages of requirements.txt; tests/deploy/run has them."""

import argparse
import copy
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import importlib_resources
import jsonschema
import kubernetes_validate
import referencing
import yaml

SCHEMAS = Path(__file__).resolve().parent / "schemas"
VERSIONS = ("1.33", "1.34", "1.35", "1.36", "1.37")
KINDS = ("pod", "trainjob", "pytorchjob", "mpijob")
VIAS = ("dra", "multus", "sriov")
# Options that bring every part of a manifest.
WHOLE = ("--gpus", "8", "--key-secret", "railweave-key", "--namespace", "jobs", "--nodes", "3")
# Keys that users choose, under these keys: any spelling is right.
FREE = {"labels", "annotations", "limits", "requests", "selector"}


def documents(text):
    """Parses a file of manifests. The text `config` of a network attachment becomes the JSON in it."""
    found = list(yaml.safe_load_all(text))
    for document in found:
        if document["kind"] == "NetworkAttachmentDefinition":
            document["spec"]["config"] = json.loads(document["spec"]["config"])
    return found


def schemas_of(version):
    """Returns the folder of the strict schemas of one version of Kubernetes."""
    return importlib_resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local-strict"


@cache
def kubernetes_definitions(version):
    contents = json.loads((schemas_of(version) / "_definitions.json").read_text())
    return referencing.Registry().with_resource(contents["$id"], referencing.Resource.from_contents(contents))


@cache
def validator(kind, api_version, version):
    """Returns the validator of one kind. Raises SchemaNotFoundError for an unknown kind or version of its API."""
    own = SCHEMAS / f"{kind.lower()}.json"
    if own.exists():
        schema = json.loads(own.read_text())
    else:
        group = api_version.split("/")[0].split(".")[0] + "-" if "/" in api_version else ""
        file = schemas_of(version) / f"{kind.lower()}-{group}{api_version.split('/')[-1]}.json"
        if not file.is_file():
            raise kubernetes_validate.SchemaNotFoundError(kind, version, api_version)
        schema = json.loads(file.read_text())
    return jsonschema.Draft202012Validator(schema, registry=kubernetes_definitions(version))


def error_of(document, version):
    """Returns what is wrong with the document, or an empty text."""
    try:
        validator(str(document.get("kind")), str(document.get("apiVersion")), version).validate(document)
    except jsonschema.ValidationError as error:
        return f"{'.'.join(str(part) for part in error.absolute_path)}: {error.message[:200]}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return error.message
    return ""


def keys_of(value, path=()):
    """Yields the path of every key that has one right spelling."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            if key not in FREE or isinstance(inner, list):
                yield from keys_of(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from keys_of(inner, (*path, index))


def misspelt(document, path):
    """Returns a copy whose key at `path` has one letter too many."""
    changed = copy.deepcopy(document)
    holder = changed
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1] + "s"] = holder.pop(path[-1])
    return changed


def with_typos(document):
    """Yields (what is misspelt, a copy with this one typo): every key, and the values of kind and apiVersion."""
    for path in keys_of(document):
        yield ".".join(map(str, path)), misspelt(document, path)
    for key in ("kind", "apiVersion"):
        yield f"the value of {key}", {**document, key: document[key] + "s"}


def render(program, kind, via, version, more):
    words = ["--nics", "2", "--via", via, "--kind", kind, "--kubernetes", version, *more]
    done = subprocess.run([program, "deploy", "render", *words], capture_output=True, text=True, timeout=30,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"railweave deploy render --kind {kind} --via {via}: {done.stderr}")
    return documents(done.stdout)


def check_words(program):
    """Texts of the user that look like other things to a reader of YAML come back as they were."""
    words = ["on", "No", "null", "~", "1", "0x1f", "1e3", "12:30:45", "2026-01-01", "a: b", "a #b", "- a", "&a",
             "*a", "!a", "%a", "@a", "{a", "[a", "'", '"', "\\", "=", "<<", "?", "|", ">", "", " a ",
             "caf\u00e9", "\U0001f600"]
    pod = render(program, "pod", "dra", VERSIONS[-1], ("--", *words))[-1]
    read = pod["spec"]["containers"][0]["command"][-len(words):]
    failures = [f"wrote {word!r}, read {back!r}" for word, back in zip(words, read) if word != back]
    return f"{len(words)} texts that look like something else in YAML", failures


def check_independently(document, version):
    """Asks kubernetes-validate itself, where it knows the kind."""
    if not (SCHEMAS / f"{document['kind'].lower()}.json").exists():
        kubernetes_validate.validate(document, version, strict=True)


def check_version(program, version):
    """Returns a line of figures, and the failures."""
    counts = dict.fromkeys(("manifests", "objects", "typos"), 0)
    failures = []
    for kind in KINDS:
        for via in VIAS:
            where = f"{version} {kind} {via}"
            for more in ((), WHOLE):
                counts["manifests"] += 1
                for document in render(program, kind, via, version, more):
                    counts["objects"] += 1
                    if error := error_of(document, version):
                        failures.append(f"{where}: {document['kind']}: {error}")
                    else:
                        check_independently(document, version)
            for document in render(program, kind, via, version, WHOLE):
                for typo, changed in with_typos(document):
                    counts["typos"] += 1
                    if not error_of(changed, version):
                        failures.append(f"{where}: {document['kind']}: no error for a typo in {typo}")
    return f"Kubernetes {version}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), failures


def check_committed(folder):
    """Judges the committed files by the versions of Kubernetes that they are for. Returns a line and the failures."""
    failures = []
    files = sorted(folder.glob("*.yaml"))
    for file in files:
        for version in VERSIONS[1:]:
            for document in documents(file.read_text()):
                if error := error_of(document, version):
                    failures.append(f"{file.name}, {version}: {document['kind']}: {error}")
        for document in documents(file.read_text()):
            if document["apiVersion"] == "resource.k8s.io/v1" and not error_of(document, VERSIONS[0]):
                failures.append(f"{file.name}: {VERSIONS[0]} accepts resource.k8s.io/v1, expected an error")
    if not files:
        failures.append(f"{folder}: found no manifest")
    return f"{len(files)} files of deploy/kubernetes under {VERSIONS[1]} to {VERSIONS[-1]}", failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the program railweave")
    parser.add_argument("--committed", type=Path, required=True, help="deploy/kubernetes")
    arguments = parser.parse_args()
    results = [check_version(arguments.program, version) for version in VERSIONS]
    results.append(check_words(arguments.program))
    results.append(check_committed(arguments.committed))
    failures = [failure for _, some in results for failure in some]
    for line, some in results:
        print(f"{line}: {'valid' if not some else f'{len(some)} failures'}", flush=True)
    for failure in failures[:50]:
        print(f"failed: {failure}")
    print(f"{len(failures)} failures" if failures else
          "Every key was misspelt once in every kind of object, for every version; each typo was found.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
