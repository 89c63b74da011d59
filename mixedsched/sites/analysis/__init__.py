"""Questions to a site: how many connections a load takes, whether it is sound, how it differs from another."""
