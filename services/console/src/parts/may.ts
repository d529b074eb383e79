/** The rights of the user of the page. */
import type { Overview } from '@omnibus/admin-api';
import { lastOf } from '../api/live.ts';

const nothing: Overview['console'] = {
  mode: 'read',
  who: '',
  roles: [],
  mayChange: false,
  mayWatch: false,
  mayPayloads: false,
  mayPolicy: false,
  mayAudit: false,
  maySeeKeys: false,
  mayKeys: false,
  maySeePrograms: false,
  mayPrograms: false,
  maySeeAgents: false,
  hasAgents: false,
  mayAgents: false,
  mayBlock: false,
  maySeeLabels: false,
  mayEdit: 'no',
  isAudited: false,
};

/** The rights in the last overview, which the frame of the page requests; none before the first. */
export function may(): Overview['console'] {
  return lastOf<Overview>('overview')?.console ?? nothing;
}
