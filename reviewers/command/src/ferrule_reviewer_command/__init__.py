"""Has a program or an HTTP service decide about approvals."""
