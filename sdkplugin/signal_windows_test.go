package sdkplugin_test

import "os"

var signalZero = os.Kill // not used: the test is skipped
