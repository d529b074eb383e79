/** The parts of a process, in the order in which they start. A part gets from the host what parts before it offer; the admin port sees those after it too. */
import type { Part } from './part.ts';
import { admin, adminAnswers } from './parts/admin.ts';
import { auditing } from './parts/audit.ts';
import { callers } from './parts/authenticator.ts';
import { ownAuthorization } from './parts/authorization.ts';
import { servers } from './parts/backend.ts';
import { blocking } from './parts/blocks.ts';
import { connectedBus } from './parts/bus.ts';
import { directories } from './parts/directories.ts';
import { edge } from './parts/edge.ts';
import { tokenExchange } from './parts/exchange.ts';
import { failures } from './parts/failures.ts';
import { faultFlush } from './parts/fault-flush.ts';
import { goneUsers } from './parts/gone-users.ts';
import { callerProofs } from './parts/proofs.ts';
import { proxy } from './parts/proxy.ts';
import { sessions } from './parts/sessions.ts';
import { signInPages } from './parts/sign-in-pages.ts';
import { tapping } from './parts/tap.ts';
import { traces } from './parts/tracing.ts';
import { vaults } from './parts/vault.ts';

export const parts: readonly Part[] = [
  proxy,
  faultFlush,
  failures,
  tapping,
  admin,
  connectedBus,
  adminAnswers,
  auditing,
  traces,
  callerProofs,
  blocking,
  signInPages,
  vaults,
  directories,
  ownAuthorization,
  tokenExchange,
  callers,
  sessions,
  servers,
  goneUsers,
  edge,
];
