# Writes OUTPUT, a C source with the commit of SOURCE, at every build; the file is touched only when
# the commit changed. Outside a repository (an unpacked archive) the commit is the one that
# `git archive` noted in git_archival.txt, or "unknown".
#   cmake -DSOURCE=<folder> -DOUTPUT=<file> -P git_version.cmake
set(commit "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  # The sources may belong to another user than the one who builds.
  set(git ${GIT} -c safe.directory=* -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse HEAD RESULT_VARIABLE failed OUTPUT_VARIABLE found
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit ${found})
    # Read-only: a refresh of the index could meet another git in the same folder.
    execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0
                            ${git} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit "-dirty")
    endif()
  endif()
elseif(EXISTS ${SOURCE}/io/result/git_archival.txt)
  file(STRINGS ${SOURCE}/io/result/git_archival.txt noted LIMIT_COUNT 1)
  if(noted MATCHES "^[0-9a-f]+$")
    set(commit ${noted})
  endif()
endif()

set(text "extern const char norma_git_commit[];\nconst char norma_git_commit[] = \"${commit}\";\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
