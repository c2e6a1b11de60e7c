"""Both compactors do what the contract asks of every compactor."""

from ferrule_compaction.remote import RemoteCompactor
from ferrule_compaction.summary import SummaryCompactor
from ferrule_testkit import CompactorConformance


class TestSummaryCompactor(CompactorConformance):
    def make(self, context):
        return SummaryCompactor(context)


class TestRemoteCompactor(CompactorConformance):
    def make(self, context):
        return RemoteCompactor(context)
