"""What the kernel's own tests plug into it; `stage` tells each part what to do."""
