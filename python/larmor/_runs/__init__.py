"""Reconstructions of scans: started, followed, shown. SPDX-License-Identifier: Apache-2.0"""
