/** What whoever looks at the page may do. */
import type { Overview } from '@omnibus/admin-api';
import { lastOf } from '../api/live.ts';

const nothing: Overview['console'] = { mode: 'read', who: '', roles: [], mayChange: false, mayWatch: false, mayPayloads: false };

/** Of the last overview, which the frame of the page asks for; nothing until there was one. */
export function may(): Overview['console'] {
  return lastOf<Overview>('overview')?.console ?? nothing;
}
