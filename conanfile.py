# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe of the C++ library. Eigen and LBFGSpp come from the system."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.microsoft import is_msvc
from conan.tools.system.package_manager import Apt


class DpFtrl(ConanFile):
    name = "dpftrl"
    description = "Private prefix sums and private online learning with correlated noise"
    license = "Apache-2.0"
    topics = ("differential-privacy", "matrix-factorization-mechanism", "dp-ftrl")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    exports_sources = "CMakeLists.txt", "LICENSE", "cpp/*"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(dpftrl VERSION ([\d.]+)", text).group(1)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)
        if is_msvc(self):
            raise ConanInvalidConfiguration("the loops are vectors that MSVC lacks; use Clang")

    def system_requirements(self):
        Apt(self).install(["libeigen3-dev", "liblbfgspp-dev"], check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["DPFTRL_TESTS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package brings its own dpftrlConfig.cmake.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "dpftrl")]
        self.cpp_info.libs = ["dpftrl"]
