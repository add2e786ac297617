# conan create packaging/conan -s compiler.cppstd=20 [-o shared=True] [-o minilm=True]
# Its libraries come from the system, as docs/embed.md says: Debian's packages are what Tertulia is tested with.
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class TertuliaRecipe(ConanFile):
    name = "tertulia"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "A conversation engine for LLM agents: durable, branching, crash-safe"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "minilm": [True, False]}
    default_options = {"shared": False, "minilm": False}

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        copy(self, "CMakeLists.txt", root, self.export_sources_folder)
        copy(self, "LICENSE", root, self.export_sources_folder)
        for folder in ("cmake", "libs", "tools"):
            copy(self, f"{folder}/*", root, self.export_sources_folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_SHARED_LIBS"] = bool(self.options.shared)
        toolchain.cache_variables["TERTULIA_DEVELOPER"] = False
        toolchain.cache_variables["TERTULIA_PROGRAMS"] = False
        toolchain.cache_variables["TERTULIA_MINILM"] = bool(self.options.minilm)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="installable")

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package brings its own tertulia-config.cmake.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tertulia")]
