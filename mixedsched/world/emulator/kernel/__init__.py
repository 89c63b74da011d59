"""What netns and vm share: namespaces that never outlive their owner, and profiles as words for tc."""
