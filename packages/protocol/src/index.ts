export { keyIssuer, type Actor, type Facts, type Subject } from './facts.ts';
export { plainVariables } from './plain-variables.ts';
export {
  argumentFor,
  hasTemplates,
  headersFor,
  isTemplate,
  placeholdersOf,
  templateProblem,
  withoutTemplates,
} from './header-templates.ts';
export {
  anonymous,
  askerOf,
  exchangeOf,
  idSequence,
  isPushStream,
  isSessionId,
  isToken,
  localUser,
  newRequestKey,
  newSessionId,
  newWorkerId,
  parseEndpointName,
  ownServer,
  parseServerName,
  pushStreamIds,
  requestOf,
  requestStream,
  rootEndpoint,
  sessionKey,
} from './ids.ts';
export type {
  EndpointName,
  ExchangeId,
  Principal,
  QuestionId,
  ServerName,
  SessionId,
  SessionKey,
  StreamId,
  WorkerId,
} from './ids.ts';
export { definedKinds } from './approved-definitions.ts';
export type { ApprovedDefinitions, DefinedKind } from './approved-definitions.ts';
export { canonical } from './canonical.ts';
export { mediaTypeOf } from './media-type.ts';
export { isPattern } from './pattern.ts';
export { holdsRawNumbers, isRawNumber, isRounded, numberOf, parseJson } from './exact-numbers.ts';
export type { JsonNumber, RawNumber } from './exact-numbers.ts';
export {
  classify,
  errorText,
  idKey,
  isJsonRpcId,
  isEmptyList,
  isEmptyObject,
  isObject,
  isSameId,
  notificationText,
  objectIn,
  resultText,
} from './json-rpc.ts';
export type {
  Classified,
  JsonObject,
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from './json-rpc.ts';
export { isDeeperThan, readJson } from './read-json.ts';
export {
  featuresOf,
  isLegacyRevision,
  isModernRevision,
  mannerOf,
  latestLegacyRevision,
  legacyRevisions,
  latestModernRevision,
  modernRevisions,
  negotiateRevision,
  oldDraft,
  spokenRevision,
} from './revisions.ts';
export type { LegacyRevision, Revision } from './revisions.ts';
export { defaultLimits, interestMs, presenceMs, streamAfterMs } from './limits.ts';
export { isCustomMethod, isCustomNotification, serverKey } from './custom-methods.ts';
export type { CustomMethod } from './custom-methods.ts';
export { calledName, callToolName } from './called-name.ts';
export { listingHeader, withOwnListing } from './own-listing.ts';
export { keyedRequest, repeatKey, repeatMs, repeatsKey } from './repeat-key.ts';
export { ownLimitHeader, ownLimitKey, readOwnLimit, withOwnLimit } from './own-limit.ts';
export { labelsKey, withoutLabels } from './labels.ts';
export { compileGlob, compileGlobStart, namesLike } from './glob.ts';
export { selectorProblem, splitSelector } from './selectors.ts';
export { nonceBytes, openSealed, sealBytes, sealingKeyBytes } from './sealed-text.ts';
export { readWithin } from './read-within.ts';
export { getFollowing, maxRedirects, redirectOf } from './redirects.ts';
export { uriForms, uriGlobs, uriProblem } from './uri-forms.ts';
export { RepairCounts, repairs } from './repairs.ts';
export type { Repair, RepairRow } from './repairs.ts';
export { claimIn, claimProblem, whoProblem, withIssuer } from './who-text.ts';
export { printable } from './printable.ts';
export { hasToken, tokenPattern, withoutSecrets } from './secret-text.ts';
export { isLoopback, redirectKind } from './redirect-uri.ts';
export { version } from './version.ts';
export { canTalk, formatProblem, isRead, ownFormats } from './format.ts';
export type { Formats } from './format.ts';
export type { Limits } from './limits.ts';
export { approvalStates, shortApproval } from './approval-records.ts';
export { grantStates } from './grant-records.ts';
export type { AccessGrant, CallGrant, GrantRecord } from './grant-records.ts';
export type { ApprovalRecord, ApprovalState, ApprovalVote } from './approval-records.ts';
export {
  conversationIn,
  conversationKey,
  laterLabels,
  noLabels,
  labelAdvice,
  labelData,
  shownKeyLength,
} from './conversations.ts';
export type { ConversationLabel, ConversationRecord, LabelReason, Labels } from './conversations.ts';
export type { OwnedResults, SourceTool, StoredPart, StoredResult } from './stored-results.ts';
export { starred } from './starred.ts';
export { errorResult, textResult } from './text-results.ts';
export type { DirectoryEntry, DirectoryGroup, DirectoryUser } from './directory-records.ts';
export { blockKinds } from './limit-records.ts';
export type { BlockKind, BlockRecord, LimitsNews, QuotaRecord, UsageRecord, UsageRow } from './limit-records.ts';
export { errorTable, fault, GatewayError, httpStatusOf, toErrorObject } from './errors.ts';
export type { ErrorReason, GatewayFault } from './errors.ts';
export { whoOf } from './exchange.ts';
export type {
  Asker,
  BackendPresence,
  AttachCommand,
  AttachReply,
  CallCommand,
  SeenState,
  ControlCommand,
  ExchangeContext,
  ExchangeEvent,
  ExchangeOutcome,
  HeldExchanges,
  InputAnswer,
  InputKey,
  ProgressEvent,
  QuestionMethod,
  ServerNotice,
  TaskPlace,
  OfferCaller,
  Who,
} from './exchange.ts';
export type {
  Client,
  AdoptCommand,
  AdoptReply,
  Caller,
  EdgePresence,
  EventPosition,
  FindCommand,
  FindReply,
  HeldReaders,
  HeldRequests,
  HeldStreams,
  HoldReply,
  InboxPost,
  InboxReply,
  LateMessage,
  LateReply,
  ModernCommand,
  ModernControl,
  ModernReply,
  OpenCommand,
  OpenReply,
  PostedMessage,
  Presence,
  Begun,
  SessionCommand,
  SessionMessage,
  StreamEntry,
  StreamFrame,
  TakenNotice,
} from './session-messages.ts';
export {
  changeKinds,
  changeNotifications,
  isLogLevel,
  listKindOf,
  listKinds,
  listMethods,
  logLevels,
  paramsProblem,
  urlElicitationRequired,
} from './methods.ts';
export type { ChangeKind, ExchangeMethod, ListKind, ListMethod, LogLevel } from './methods.ts';
export {
  clientMethods,
  inputCapabilities,
  isExtensionTaskMethod,
  isInputMethod,
  isSessionTaskMethod,
  methodRow,
  modernMethods,
  repeatableMethods,
  roundMethods,
  unapprovedMethods,
  type ExtensionTaskMethod,
  type SessionTaskMethod,
} from './method-table.ts';
export type { InputMethod } from './method-table.ts';
export { declaredBy, declaredOf, offerKey, ownerKey } from './declared.ts';
export { outcomeUrlProblem, urlProblem } from './elicitation-url.ts';
export type { Declared } from './declared.ts';
export { catalogKey, noAnnouncements, noLists, parseCatalogKey, unfitWords } from './catalog-record.ts';
export type {
  CallerOffer,
  ServerTrouble,
  CatalogLists,
  HeldEntry,
  ServerIntroduction,
  ListNotes,
  OfferedList,
  CatalogRecord,
  PromptEntry,
  ToolEntry,
  UnfitEntry,
} from './catalog-record.ts';
export { createdTask, isEnded, relatedTaskOf, relatedTo, servesTasks, withRelatedTask } from './tasks.ts';
export type { TaskSupport } from './tasks.ts';
export { argumentAt, decodeHeaderValue, parameterHeaders, repeats } from './header-values.ts';
export {
  claimedRevision,
  isComplete,
  declaresExtension,
  extensionsFor,
  extensionsOf,
  metaKeys,
  modernCodes,
  namedBy,
  readModernContext,
  searchExtension,
  skillsExtension,
  tasksExtension,
  withoutHopMeta,
  withoutModernMeta,
} from './modern.ts';
export type { ModernContext } from './modern.ts';
export { modernHeaders } from './modern-headers.ts';
export { clientInfoOf } from './client-info.ts';
export type { ClientInfo, SessionRecord } from './session-record.ts';
export { insteadOfKey, signInName } from './connect-messages.ts';
export { tokenDigest, type CallerTokenAsk, type CallerTokenReply } from './caller-tokens.ts';
export type { ConnectCommand, ConnectionRow, ConnectReply } from './connect-messages.ts';
export type { AdminAnswer, AdminQuestion, TapFilter, TapLease, TapReport, WorkerOfRole } from './admin-messages.ts';
export { basePathOf, pathBelow } from './base-path.ts';
export { problemWords, withReason } from './problem-words.ts';
export {
  AwayBytes,
  AwayError,
  JsonBytes,
  unread,
  wire,
  withText,
  type KeptBytes,
  type MayBeBytes,
  type MayBeUnread,
  type MayHaveBytes,
  type Span,
} from './wire/marks.ts';
export { outlineOf, resultOfOutline } from './wire/outline.ts';
export { leastWireBytes, readAnswer, readResult } from './wire/read-answer.ts';
