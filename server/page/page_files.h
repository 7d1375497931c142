// PageFiles: serves the files of the live page at /ui/NAME, and index.html at /ui/.
//
//   AddPageFiles(&http);
//
// A browser asks for a file with the hash that it knows (If-None-Match), and gets 304 while the
// file is the same. Only the paths of files have an answer, so no path leads out of the folder.
// Threading: thread-safe after AddPageFiles.
#pragma once

#include "server/http/http.h"

namespace wq {

// Also sends / and /ui to /ui/.
void AddPageFiles(Http* http);

}  // namespace wq
