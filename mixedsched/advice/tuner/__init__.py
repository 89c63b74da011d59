"""From a page to what to ship: a search over schedulers, mappings and overrides, a paired race in the browser, its proof."""
