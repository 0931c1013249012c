# DINDHOST_CC_FLAG(FLAG)
# Adds FLAG to WARN_CFLAGS, and stops configure when the compiler refuses it: a flag that is
# dropped in silence protects nobody.
AC_DEFUN([DINDHOST_CC_FLAG], [
  AC_MSG_CHECKING([whether $CC accepts $1])
  dindhost_save="$CFLAGS"; CFLAGS="$CFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([])],
    [AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $1"],
    [AC_MSG_RESULT([no]); AC_MSG_ERROR([$CC rejects $1])])
  CFLAGS="$dindhost_save"
])

# DINDHOST_CC_FLAG_OPTIONAL(FLAG): for flags that only one of gcc and clang knows.
AC_DEFUN([DINDHOST_CC_FLAG_OPTIONAL], [
  AC_MSG_CHECKING([whether $CC accepts $1])
  dindhost_save="$CFLAGS"; CFLAGS="$CFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([])],
    [AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $1"],
    [AC_MSG_RESULT([no])])
  CFLAGS="$dindhost_save"
])
