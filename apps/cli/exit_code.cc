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
    case ErrorCode::kBadArguments:
    case ErrorCode::kBadGraph:
      return kExitBadData;
    case ErrorCode::kOutOfRange:
    case ErrorCode::kBadId:
    case ErrorCode::kUnknownTokenizer:
    case ErrorCode::kUnsupportedParameter:
      return kExitUsage;
    case ErrorCode::kNotFound:
    case ErrorCode::kNoSession:
    case ErrorCode::kNoBranch:
    case ErrorCode::kNoMessage:
    case ErrorCode::kNoTurn:
    case ErrorCode::kNoQuestion:
    case ErrorCode::kNoCheckpoint:
    case ErrorCode::kNoSuchTool:
    case ErrorCode::kModelNotFound:
    case ErrorCode::kStreamGone:
      return kExitNoInput;
    case ErrorCode::kStorageFull:
    case ErrorCode::kStorageIo:
    case ErrorCode::kOutcomeUnknown:
      return kExitIo;
    case ErrorCode::kLocked:
    case ErrorCode::kStoreUnavailable:
    case ErrorCode::kTurnRunning:
    case ErrorCode::kQueueFull:
    case ErrorCode::kRateLimited:
    case ErrorCode::kModelUnavailable:
    case ErrorCode::kLeaseLost:
      return kExitTryAgain;
    case ErrorCode::kNotPermitted:
    case ErrorCode::kRoleNotAllowed:
    case ErrorCode::kModelKey:
    case ErrorCode::kUrlNotAllowed:
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
    case ErrorCode::kModelRefused:
    case ErrorCode::kContextOverflow:
    case ErrorCode::kBadStream:
    case ErrorCode::kScriptMismatch:
    case ErrorCode::kToolFailed:
    case ErrorCode::kNothingToResume:
    case ErrorCode::kTurnInterrupted:
    case ErrorCode::kLimitReached:
    case ErrorCode::kStateConflict:
      return kExitFailure;
  }
  return kExitFailure;
}

}  // namespace tertulia::cli
