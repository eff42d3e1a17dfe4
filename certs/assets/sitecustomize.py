"""Makes aiohttp read the proxy variables, which it ignores unless each session asks for it.

Python imports this module at start-up because its folder stands first in PYTHONPATH. It imports nothing by
itself: the change is made if and when the program imports aiohttp. A session that says `trust_env=False`
keeps its will. Afterwards the `sitecustomize` that Python would have found without us is imported.
"""

import sys


class _AiohttpFinder:
    """Stands before the other finders, for one module and one time."""

    def find_spec(self, name, path=None, target=None):
        if name != "aiohttp.client":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec else None
            if spec is not None:
                break
        else:
            return None
        execute = getattr(spec.loader, "exec_module", None)
        if execute is not None:

            def exec_module(module):
                execute(module)
                _trust_the_environment(module)

            spec.loader.exec_module = exec_module
        return spec


def _trust_the_environment(client):
    session = getattr(client, "ClientSession", None)
    defaults = getattr(getattr(session, "__init__", None), "__kwdefaults__", None)
    if defaults and "trust_env" in defaults:
        defaults["trust_env"] = True


def _import_the_next_sitecustomize():
    folder = __file__.rpartition("/")[0]
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401, the one after ours
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import system expects to find what it has just loaded under this name.
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


sys.meta_path.insert(0, _AiohttpFinder())
_import_the_next_sitecustomize()
