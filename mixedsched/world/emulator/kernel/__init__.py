"""The shared ground of netns and vm: namespaces that never outlive their owner, and profiles as arguments of tc."""
