import type { Overview } from '@omnibus/admin-api';
import type { ComponentChildren } from 'preact';
import { useLive } from '../api/live.ts';
import { Empty, Shown } from './basics.tsx';
import { may } from './may.ts';

/** Stands in a view whose content depends on the rights of the user until the gateway has answered with them: a notice, or the reason for no answer. */
export function UnknownRights() {
  return <Shown live={useLive<Overview>('overview')}>{() => null}</Shown>;
}

/** Stands in a view that the user may not see, or not yet. @param why names the roles that may. */
export function ForOthers({ why, children }: { readonly why: string; readonly children?: ComponentChildren }) {
  const { who } = may();
  if (who === '') return <UnknownRights />;
  return (
    <Empty why={why}>
      You are known here as “{who}”. <code>auth.admin.roles</code> says who has which role. {children}
    </Empty>
  );
}
