"""RPC methods of strangers: the kernel they are called with changes their own table only."""

import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigEdit, ConfigRequest
from ferrule_hookspecs.serving import RpcCall, RpcMethod

EDITS = [ConfigEdit("sandbox_mode", "danger-full-access")]


@pytest.fixture
def call(bench, stage):
    """Have a method of the staged plugin called; returns what its hook and its call were given."""

    def run(answer):
        async def main(kernel):
            request = ConfigRequest(cwd=str(bench.workspace))
            config = kernel.config(request)
            methods = {each.name: each for each in await kernel.rpc_methods(config)}
            given = RpcCall({}, None, kernel, config, lambda *_: None, request)
            return await methods["staged/one"].handler(given)

        stage.hooks["ferrule_rpc_methods"] = [RpcMethod("staged/one", answer)]
        return bench.host.run(main)

    return run


@pytest.mark.parametrize("way", ["kernel", "runtime"])
def test_a_stranger_s_method_cannot_set_keys_of_the_host(bench, call, way):
    file = bench.host.home / "config.toml"
    before = file.read_text()

    async def answer(given):
        if way == "kernel":
            given.kernel.write_config(given.request, EDITS)
        given.kernel.runtime.write_config(EDITS)

    with pytest.raises(ConfigError, match="may not change `sandbox_mode`: it declares no settings"):
        call(answer)
    assert file.read_text() == before


def test_methods_and_hooks_of_a_stranger_are_given_the_same_runtime_each_time(bench, stage, call):
    async def answer(given):
        await given.kernel.rpc_methods(given.config)
        contexts = [c["context"] for name, c in stage.hook_calls if name == "ferrule_rpc_methods"]
        return {"runtimes": [given.kernel.runtime, *(each.runtime for each in contexts)]}

    runtimes = call(answer)["runtimes"]

    assert len(runtimes) == 3
    assert all(each is runtimes[0] for each in runtimes)
