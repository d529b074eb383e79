export type {
  Bucket,
  Bus,
  BusFault,
  Journal,
  KeyValue,
  KeyValueChange,
  Ledger,
  LedgerDefinition,
  OnFault,
  PendingRequest,
  ReplyObserver,
  Subscription,
  Watch,
} from './bus.ts';
export { BusError, gatewayFaultOf, isConflict, newIncident, openingAdvice } from './errors.ts';
export type { Subject } from './subject.ts';
export { subjectTable } from './subject-table.ts';
export type { BusRole } from './families.ts';
export { busRoles, inboxOf, natsUserNames, natsUsers, permissionsOf, setUpPermissions } from './nats/permissions.ts';
export { reservedBytes } from './nats/streams.ts';
export type { SetUpOptions, SetUpStep } from './nats/setup.ts';
export {
  approvalsBucket,
  approvedBucket,
  auditLedger,
  authorizationBuckets,
  catalogBucket,
  conversationsBucket,
  quotaBuckets,
  resultBuckets,
  sessionsBucket,
  subjects,
  usageBucket,
  vaultBuckets,
  vectorsBucket,
} from './subjects.ts';
export { Heartbeat, PresenceWatch } from './presence.ts';
export { auditLedgerOf } from './audit-ledger.ts';
export { askBackends } from './ask-backends.ts';
export { askOnce } from './ask-once.ts';
export { afterAsking, type AskedBackend, type Found } from './after-asking.ts';
export { askWorker, askWorkers, type AskOptions } from './ask-workers.ts';
export { Inquiry } from './inquiry.ts';
export { openStreamJournal } from './stream-journal.ts';
export { LocalHub } from './local/hub.ts';
export { openLocalBus } from './local/bus.ts';
export { MemoryBus } from './memory/bus.ts';
export { haveFormerWorkersEnded } from './former-workers.ts';
export { FolderStore } from './folder/store.ts';
export { examineNats, findLoginProblem, openNatsBus, setUpNats } from './nats/open.ts';
export type { NatsExamination } from './nats/examine.ts';
export type { NatsLogin } from './nats/login.ts';
export type { NatsPlace } from './nats/place.ts';
export { changeValue } from './change-value.ts';
export { ApprovalBoard } from './approvals.ts';
export { Blocks, isOfGone } from './blocks.ts';
export { ConversationBoard, LabelProblem, type ConversationOf } from './conversations.ts';
export { Directory, type StoredGroup, type StoredUser } from './directory.ts';
export { Grants } from './grants.ts';
export { Room } from './room.ts';
export { resultOf } from './nats/away.ts';
