# SPDX-License-Identifier: Apache-2.0
"""Re-derives the claims of dp-ftrl from the mathematics alone; see docs/certificates.md."""
