# SPDX-License-Identifier: Apache-2.0
"""Re-derivation of what dp-ftrl claims, from the mathematics alone; see docs/certificates.md."""
