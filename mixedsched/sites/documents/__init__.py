"""HTML and CSS documents of a site: which references they hold, and how to rewrite these."""
