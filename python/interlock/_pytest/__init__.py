"""The implementation of the pytest plugin, which `_interlock_pytestplugin` imports when it is requested."""
