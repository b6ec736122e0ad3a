// Data sets of image files: one in class directories, one from lists, one from a table.
#include "image_files.hpp"

#include "gh/component.hpp"

namespace {

constexpr gh::Param kFingerprint =
    gh::choice("fingerprint", "listing", "listing|content",
               "what tells whether the data are the same: names, targets and, unless they are from "
               "lists, sizes of the files; or also every byte of them, which has to be read first");
constexpr gh::Param kFolderParams[] = {
    gh::path("root", nullptr, "directory of the split directories"),
    gh::texts("extensions", R"(["jpg", "jpeg", "png"])", "endings of image files, in any case"),
    gh::text("train", "\"train\"", "directory of the training split, below root"),
    gh::text("test", "\"\"", "directory of the test split; empty: test, else val"),
    kFingerprint,
};
constexpr gh::Param kListParams[] = {
    gh::path("root", nullptr, "directory the paths in the lists start from"),
    gh::path("train", nullptr, "list of the training split, a 'relative/path label' a line"),
    gh::path("test", nullptr, "list of the test split").optional(),
    gh::path("shots", nullptr, "list of a split 'shots', for probes with few labels").optional(),
    gh::path("classes", nullptr, "class names, one a line").optional(),
    kFingerprint,
};
constexpr gh::Param kTableParams[] = {
    gh::path("root", nullptr, "directory the paths in the table start from"),
    gh::path("table", nullptr, "CSV file with a header"),
    gh::text("path_column", "\"path\"", "column of the image's path"),
    gh::text("target_column", "\"age\"", "column of the real number to predict"),
    gh::text("split_column", "\"split\"", "column of the split's name"),
    kFingerprint,
};
constexpr gh::Component kComponents[] = {
    gh::describe<image_files::ImageFolder>("image_folder", "images in a directory for each class",
                                           kFolderParams),
    gh::describe<image_files::ImageList>("image_list", "images from lists of paths and labels",
                                         kListParams),
    gh::describe<image_files::ImageTable>("image_table", "images from a table with real targets",
                                          kTableParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Image files in class directories, from lists or from a table")
