"""The store does what the contract asks of every store."""

from ferrule.store import JsonlStore
from ferrule_testkit import StoreConformance


class TestJsonlStore(StoreConformance):
    def make(self, context):
        return JsonlStore(context)
