"""The versions that the site's sidebar offers."""

import subprocess

from docs.release import versions


def git(folder, *words):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", folder, *who, *words]
    subprocess.run(command, check=True, capture_output=True)


def test_versions_are_tags_by_number_and_the_current_one(tmp_path):
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "first")
    for tag in ("v0.9.0", "v0.10.0", "vanilla"):
        git(tmp_path, "tag", tag)
    assert versions("0.11.0", tmp_path) == [
        {"version": "0.11.0", "released": False},
        {"version": "0.10.0", "released": True},
        {"version": "0.9.0", "released": True},
    ]


def test_a_released_version_stands_there_once(tmp_path):
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "first")
    git(tmp_path, "tag", "v0.1.0")
    assert versions("0.1.0", tmp_path) == [{"version": "0.1.0", "released": True}]


def test_without_a_repository_there_is_the_current_one(tmp_path):
    assert versions("0.1.0", tmp_path) == [{"version": "0.1.0", "released": False}]
