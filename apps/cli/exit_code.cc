#include "exit_code.h"

namespace tertulia::cli {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kEmptyBody:
    case ErrorCode::kBadJson:
    case ErrorCode::kTooDeep:
    case ErrorCode::kDuplicateKey:
    case ErrorCode::kBadNumber:
    case ErrorCode::kBadUnicode:
    case ErrorCode::kUnknownField:
    case ErrorCode::kMissingField:
    case ErrorCode::kWrongType:
    case ErrorCode::kTooLarge:
    case ErrorCode::kDamaged:
    case ErrorCode::kSessionDamaged:
    case ErrorCode::kNeedsVersion:
    case ErrorCode::kForeignData:
    case ErrorCode::kUnpairedToolCall:
      return kExitBadData;
    case ErrorCode::kOutOfRange:
    case ErrorCode::kBadId:
    case ErrorCode::kUnknownTokenizer:
      return kExitUsage;
    case ErrorCode::kNotFound:
    case ErrorCode::kNoSession:
    case ErrorCode::kNoBranch:
    case ErrorCode::kNoMessage:
      return kExitNoInput;
    case ErrorCode::kStorageFull:
    case ErrorCode::kStorageIo:
      return kExitIo;
    case ErrorCode::kLocked:
    case ErrorCode::kTurnRunning:
    case ErrorCode::kQueueFull:
      return kExitTryAgain;
    case ErrorCode::kNotPermitted:
    case ErrorCode::kRoleNotAllowed:
      return kExitNotAllowed;
    case ErrorCode::kBadConfig:
      return kExitBadConfig;
    case ErrorCode::kSessionExists:
    case ErrorCode::kSessionClosed:
    case ErrorCode::kBranchExists:
    case ErrorCode::kAmbiguousBranch:
    case ErrorCode::kProtectedBranch:
    case ErrorCode::kHasChildren:
    case ErrorCode::kBadForkPoint:
    case ErrorCode::kRevisionConflict:
    case ErrorCode::kKeyReuse:
    case ErrorCode::kEmptyMessage:
    case ErrorCode::kBudgetTooSmall:
    case ErrorCode::kMessageExceedsContext:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kCancelled:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kClosed:
    case ErrorCode::kInvalidHandle:
    case ErrorCode::kWouldDeadlock:
      return kExitFailure;
  }
  return kExitFailure;
}

}  // namespace tertulia::cli
