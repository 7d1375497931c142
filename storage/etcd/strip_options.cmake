# cmake -DFROM=FILE -DTO=FILE -P strip_options.cmake: copies a .proto file without the options that
# belong to other generators (gogoproto, google.api), whose definitions protoc would need.
file(READ ${FROM} text)
string(REGEX REPLACE "import \"(gogoproto|google/api)/[^\"]*\";\n" "" text "${text}")
string(REGEX REPLACE "option \\(gogoproto[^;]*;\n" "" text "${text}")
string(REGEX REPLACE " *\\[\\(gogoproto[^]]*\\]" "" text "${text}")
string(REGEX REPLACE "option \\(google\\.api\\.http\\) = {[^{}]*({[^{}]*}[^{}]*)*};" "" text "${text}")
file(WRITE ${TO} "${text}")
