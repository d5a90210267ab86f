"""The links of the documentation: rewritten for the site, and tested.

site_links.py prepare FOLDER   copies docs/ to FOLDER; links that leave docs/ become pages of the site or URLs
site_links.py finish SITE      corrects the edit links of pages that are not in docs/
site_links.py test [SITE]      tests links and anchors of the repository's Markdown and, if it is made, of the site's pages

Run by release/site, in the root of the repository. A fault is one line, `file:line: fault`, and exit code 1.
"""

import functools
import html
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from urllib.parse import unquote

REPOSITORY = "https://github.com/placebench/placebench"
# In the repository the library's documentation is a link to docs.rs. The site has its own copy in the folder `api`.
LIBRARY, LIBRARY_PAGE = "https://docs.rs/placebench", "library.md"


# Markdown


def blanks(text):
    return re.sub(r"[^\n]", " ", text)


def prose(text):
    """The text with blanks in place of code and comments: offsets and lines stay."""

    def blank(match):
        return blanks(match[0])

    text = re.sub(r"^([ \t>]*)(```+|~~~+)[^\n]*\n(?:.*?\n)??[ \t>]*\2[`~]*[ \t]*$", blank, text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    return re.sub(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", blank, text, flags=re.S)


def links(text):
    """The targets of a Markdown text, with where they begin."""
    text = prose(text)
    for pattern in (
        r"\]\([ \t\n]*<?([^)>\s]+)",
        r"^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^>\s]+)",
        r"<(?:a|img)\s[^>]*?(?:href|src)=\"([^\"]+)\"",
    ):
        for match in re.finditer(pattern, text, re.M):
            yield match.start(1), match[1]


@functools.cache
def headings(file):
    """The anchors that GitHub gives the headings of a Markdown file."""
    text = Path(file).read_text(encoding="utf-8")
    plain, anchors = prose(text), set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for match in re.finditer(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", text, re.M):
        if plain[match.start()] != "#":
            continue
        words = re.sub(r"\]\([^)]*\)", "", match[1]).lower()
        anchor = "".join("-" if c == " " else c for c in words if c.isalnum() or c in "-_ ")
        number, first = 0, anchor
        while anchor in anchors:
            number += 1
            anchor = f"{first}-{number}"
        anchors.add(anchor)
    return anchors


def is_url(target):
    return re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I) is not None


def pages():
    """The site's pages: the path in the repository -> the path below docs/ of the copy."""
    found = {str(file): str(file.relative_to("docs")) for file in sorted(Path("docs").rglob("*.md"))}
    for _, target in links(Path("docs/SUMMARY.md").read_text(encoding="utf-8")):
        if target.startswith("../"):
            path = normpath(join("docs", target))
            found[path] = path.removesuffix("/README.md").removesuffix(".md") + ".md"
    return found


def in_site(page, target, known):
    """What a link of a page says in the site."""
    if target == LIBRARY:
        return relpath(LIBRARY_PAGE if page == "docs/SUMMARY.md" else "library.html", dirname(known[page]) or ".")
    if is_url(target) or target.startswith("#"):
        return target
    path, hash_, anchor = target.partition("#")
    path = normpath(join(dirname(page), path))
    if path in known:
        path = known[path]
    elif path.startswith("docs/") and os.path.isfile(path):
        path = path.removeprefix("docs/")
    else:
        kind = "tree" if os.path.isdir(path) else "blob"
        is_picture = path.endswith((".svg", ".png", ".jpg"))
        return f"{REPOSITORY}/{kind}/main/{path}" + ("?raw=true" if is_picture else "") + hash_ + anchor
    return relpath(path, dirname(known[page]) or ".") + hash_ + anchor


def library():
    """The page of the site that leads to the documentation of the crates."""
    lines = ["# The Rust library", "", "The documentation of every crate, made from its source.", ""]
    lines += ["| crate | what it does |", "|---|---|"]
    for manifest in ["Cargo.toml", *sorted(map(str, Path().glob("*/Cargo.toml")))]:
        if manifest == "python/Cargo.toml":
            continue
        package = tomllib.loads(Path(manifest).read_text(encoding="utf-8"))["package"]
        crate = package["name"].replace("-", "_")
        if os.path.isfile(f"target/doc/{crate}/index.html"):
            what = package["description"].removeprefix("placebench: ")
            lines.append(f"| [{package['name']}](api/{crate}/index.html) | {what[:1].lower()}{what[1:]} |")
    prelude = "[`placebench::prelude`](api/placebench/prelude/index.html)"
    lines += ["", f"Programs use {prelude}, whose names semantic versioning holds. The other crates are internal: any"]
    lines += ["version may change them.", ""]
    return "\n".join(lines)


def prepare(folder):
    shutil.copytree("docs", folder)
    known = pages()
    for page, place in known.items():
        text = Path(page).read_text(encoding="utf-8")
        for start, target in sorted(links(text), reverse=True):
            text = text[:start] + in_site(page, target, known) + text[start + len(target) :]
        Path(folder, place).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, place).write_text(text, encoding="utf-8")
    Path(folder, LIBRARY_PAGE).write_text(library(), encoding="utf-8")


def finish(site):
    edit = f"{REPOSITORY}/edit/main/"
    moved = {place: page for page, place in pages().items() if not page.startswith("docs/")}
    for place, page in (moved | {LIBRARY_PAGE: "src/lib.rs"}).items():
        file = Path(site, place).with_suffix(".html")
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f"{edit}docs/{place}", edit + page), encoding="utf-8")


# Tests


def fault_of_url(target):
    """What is wrong with a URL of this repository; others are not tested."""
    match = re.match(re.escape(REPOSITORY) + r"/(?:blob|tree|edit|raw)/main/([^?#]+)(?:\?[^#]*)?(?:#(.*))?$", target)
    return match and fault_of_file(unquote(match[1]), match[2] or "", target)


def fault_of_file(path, anchor, target):
    if not os.path.exists(path):
        return f"{target}: no such file"
    if anchor and path.endswith(".md") and anchor not in headings(path):
        return f"{target}: no such heading"
    if anchor and not path.endswith(".md") and not re.fullmatch(r"L\d+(-L\d+)?", anchor):
        return f"{target}: an anchor in a file without headings"
    return None


def markdown():
    # The claims' texts are pieces of docs/REPRODUCTION.md: their links count from there, and are tested there.
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], check=True, capture_output=True
    )
    names = sorted(set(filter(None, listed.stdout.decode().split("\0"))))
    return [name for name in names if os.path.isfile(name) and not name.startswith("reports/claims/")]


def test_markdown():
    count = 0
    for page in markdown():
        text = Path(page).read_text(encoding="utf-8")
        for start, target in links(text):
            count += 1
            if is_url(target):
                fault = fault_of_url(target)
            else:
                path, _, anchor = target.partition("#")
                path = normpath(join(dirname(page), unquote(path))) if path else page
                fault = fault_of_file(path, unquote(anchor), target)
            if fault:
                yield page, text.count("\n", 0, start) + 1, fault
    summary = Path("docs/SUMMARY.md").read_text(encoding="utf-8")
    listed = {normpath(join("docs", target)) for _, target in links(summary)}
    for page in pages():
        if page not in listed and page != "docs/SUMMARY.md":
            yield page, 1, "not in docs/SUMMARY.md, so the site has no such page"
    print(f"{len(markdown())} Markdown files, {count} links", file=sys.stderr)


def without_scripts(text):
    """A page with blanks in place of scripts, styles and comments: offsets and lines stay."""
    script = r"(<(script|style)\b[^>]*>)(.*?)(</\2>)"
    text = re.sub(script, lambda match: match[1] + blanks(match[3]) + match[4], text, flags=re.S)
    return re.sub(r"<!--.*?-->", lambda match: blanks(match[0]), text, flags=re.S)


TAG = re.compile(r"<[a-zA-Z](?:[^>\"']|\"[^\"]*\"|'[^']*')*>")
ATTRIBUTE = re.compile(r"\s(href|src|id|name)=(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))")


@functools.cache
def page_of_site(file):
    """The links of a page, with where they stand, and its anchors."""
    text = without_scripts(Path(file).read_text(encoding="utf-8"))
    found, anchors = [], set()
    for tag in TAG.finditer(text):
        for match in ATTRIBUTE.finditer(tag[0]):
            value = html.unescape(match[2] or match[3] or match[4] or "")
            if match[1] in ("href", "src"):
                found.append((tag.start() + match.start(), value))
            elif match[1] == "id" or tag[0][:3].lower() == "<a ":
                anchors.add(value)
    return found, anchors


@functools.cache
def first_bytes(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read(400)


def fault_of_link(site, file, target):
    if target.startswith("//") or is_url(target):
        return fault_of_url(target)
    path, _, anchor = target.partition("#")
    path = unquote(path.partition("?")[0])
    if path.startswith("/"):
        return f"{target}: counts from the root of the server, which need not be the site's"
    there = normpath(join(dirname(file), path)) if path else file
    if relpath(there, site).startswith(".."):
        return f"{target}: leaves the site"
    # rustdoc asks for a list of implementations in other crates also where there are none.
    if not os.path.exists(there) and "/api/trait.impl/" not in there:
        return f"{target}: no such file"
    if os.path.isdir(there):
        there = join(there, "index.html")
        if not os.path.exists(there):
            return f"{target}: a folder without index.html"
    if anchor and there.endswith(".html"):
        # rustdoc's page of an item that is public elsewhere leads there, with the anchor.
        moved = re.search(r"http-equiv=\"refresh\" content=\"0; ?URL=([^\"#]+)\"", first_bytes(there))
        there = normpath(join(dirname(there), moved[1])) if moved else there
        anchors = page_of_site(there)[1]
        # A script of rustdoc marks lines of a source: `#10-20`.
        is_lines = "/api/src/" in there and all(line in anchors for line in anchor.split("-"))
        if not is_lines and anchor not in anchors and unquote(anchor) not in anchors:
            return f"{target}: no such anchor"
    return None


def test_site(site):
    count, files = 0, sorted(map(str, Path(site).rglob("*.html")))
    for file in files:
        for start, target in page_of_site(file)[0]:
            count += 1
            fault = fault_of_link(site, file, target) if target else None
            if fault:
                line = Path(file).read_text(encoding="utf-8").count("\n", 0, start) + 1
                yield file, line, fault
    print(f"{len(files)} pages of the site, {count} links", file=sys.stderr)


def main():
    verb, folder = (sys.argv[1:] + [None])[:2]
    if verb == "prepare":
        prepare(folder)
    elif verb == "finish":
        finish(folder)
    elif verb == "test":
        faults = [*test_markdown(), *(test_site(folder) if folder else [])]
        for file, line, fault in faults:
            print(f"{file}:{line}: {fault}")
        sys.exit(1 if faults else 0)
    else:
        sys.exit(__doc__)


main()
