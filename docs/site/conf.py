"""Settings of the site; `build.py` lays out the pages that this is applied to."""

project = "Ferrule"
html_title = "Ferrule"
copyright = ""
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
master_doc = "docs/README"
html_theme = "furo"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
myst_heading_anchors = 6
myst_links_external_new_tab = False
nitpicky = True
