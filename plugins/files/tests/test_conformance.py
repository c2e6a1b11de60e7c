"""The three tools do what the contract asks of every tool."""

from ferrule_files.listing import ListDir
from ferrule_files.reading import ReadFile
from ferrule_files.search import GrepFiles
from ferrule_testkit import ToolConformance


class TestReadFile(ToolConformance):
    arguments = {"path": "{workspace}/a.txt"}
    files = {"a.txt": "one\ntwo\n"}

    def make(self, context):
        return ReadFile(context)


class TestListDir(ToolConformance):
    arguments = {"path": "{workspace}"}
    files = {"a.txt": "one", "folder/b.txt": "two"}

    def make(self, context):
        return ListDir(context)


class TestGrepFiles(ToolConformance):
    arguments = {"pattern": "two", "path": "{workspace}"}
    files = {"a.txt": "one\ntwo\n"}

    def make(self, context):
        return GrepFiles(context)
