"""An installed tree of ghhost; no code here. `ghhost_plugins` beside this directory is where packages of others put plugins."""
