/** A valid payload of every family of subjects. A new family must be added here. */
import {
  ownFormats,
  type Caller,
  type EndpointName,
  type ExchangeId,
  type JsonRpcRequest,
  type Principal,
  type ServerName,
  type SessionKey,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { FamilyName, ReplyOf, RequestOf } from '../families.ts';

const caller: Caller = { principal: 'anonymous' as Principal, endpoint: '' as EndpointName };
const request: JsonRpcRequest = { jsonrpc: '2.0', id: 1, method: 'ping' };
const [key, worker, stream, server, exchange] = [
  'key' as SessionKey,
  'worker' as WorkerId,
  'stream' as StreamId,
  'server' as ServerName,
  'exchange' as ExchangeId,
];
const fault = { reason: 'internal.error', message: 'a fault' } as const;

const open = { request: { kind: 'open', caller, request }, reply: { kind: 'answered', text: '{}' } } as const;
const adopt = { request: { key, lost: undefined }, reply: { outcome: 'held', worker } } as const;
const modern = {
  request: {
    kind: 'request',
    key,
    caller,
    request,
    context: { capabilities: {}, logLevel: undefined },
    parameterHeaders: { a: 'b' },
  },
  reply: { kind: 'elsewhere', worker, call: key },
} as const;
const call = {
  request: {
    kind: 'call',
    exchange,
    method: 'tools/call',
    params: { name: 'echo' },
    context: {
      principal: caller.principal,
      session: key,
      capabilities: {},
      standsAlone: false,
      logLevel: 'info',
      wantsProgress: true,
      maxTimeMs: 1_000,
    },
  },
  reply: { kind: 'fault', fault },
} as const;
const holds = { request: { exchanges: [exchange] }, reply: { exchanges: [] } } as const;
const sign = { worker, formats: ownFormats, isLeaving: false, reconnects: 0 };

type Samples = { readonly [Name in FamilyName]: { readonly request: RequestOf<Name>; readonly reply?: ReplyOf<Name> } };

export const samples: Samples = {
  'session-open': open,
  'session-open-at': open,
  'session-adopt': adopt,
  'session-adopt-at': adopt,
  'session-find': { request: { key }, reply: { worker } },
  'session-find-at': { request: { key }, reply: { isHeld: true } },
  'session-taken': { request: { key } },
  presence: { request: { ...sign, sessions: 4, hearsYoung: true } },
  'edge-presence': { request: sign },
  'edge-readers': { request: { readers: [stream] }, reply: { readers: [] } },
  session: {
    request: { key, command: { kind: 'post', caller, stream, message: { kind: 'request', message: request } } },
    reply: { kind: 'message', text: '{}', isAnswer: true, sequence: 1, last: true },
  },
  'session-streams': { request: { key, streams: [stream] }, reply: { key, streams: [] } },
  'session-late': { request: { key, posted: { kind: 'request', message: request } }, reply: { outcome: 'taken' } },
  stream: { request: { kind: 'sent', sequence: 1, text: '{}', isAnswer: true, last: true } },
  modern,
  'modern-at': modern,
  'modern-control': { request: { kind: 'closed', key, reason: 'gone' } },
  'modern-holds-at': { request: { keys: [key] }, reply: { keys: [key], notBegun: [key] } },
  'edge-inbox': {
    request: { kind: 'post', caller, message: { kind: 'request', message: request }, bytes: 1 },
    reply: { kind: 'accepted' },
  },
  backend: call,
  'backend-at': call,
  'backend-presence': { request: { ...sign, servers: [server] } },
  'backend-holds-at': holds,
  'backend-attach': {
    request: { exchange, owner: worker, ageMs: 1.5, turn: 1, takes: false, sendings: 1 },
    reply: { kind: 'seen', state: 'never' },
  },
  limits: { request: { kind: 'taken', worker, taken: [['rule x', 1]], running: [] } },
  'backend-control': { request: { kind: 'cancel', exchange, reason: 'enough' } },
  connect: { request: { kind: 'look', ticket: 'ticket' }, reply: { kind: 'gone' } },
  'caller-token': {
    request: { server, principal: caller.principal, key: { kty: 'EC' } },
    reply: { kind: 'failed', problem: 'a problem', isPassing: true },
  },
  'admin-ask': {
    request: { about: 'process', args: {} },
    reply: { process: worker, role: 'edge', workers: [worker], known: [{ worker, role: 'edge' }], body: {} },
  },
  'tap-lease': {
    request: {
      watch: 'watch',
      to: worker,
      termMs: 10_000,
      filter: { server: 'server' },
      perSecond: 50,
      payload: 'none',
    },
  },
  tap: { request: { process: worker, watch: 'watch', events: [{ tag: 'tag' }], dropped: 0 } },
  notices: { request: { kind: 'log', server, params: {}, sessions: [key] } },
};
