"""The implementation of the pytest plugin, which `_interlock_pytestplugin` imports once it is asked for."""
