import { withoutHopMeta } from '@omnibus/protocol';
import type { ServerFeature, ServerParts } from '../../feature.ts';
import { ResourceSubscriptions, subscriptionSteps } from './resource-subscriptions.ts';

/** Resource subscriptions of sessions. */
export function subscriptions({ bus, server, wheel, metrics, tell }: ServerParts): ServerFeature {
  const kept = new ResourceSubscriptions({ bus, server, wheel, tell, dropped: () => metrics.dropped('update_storm') });
  return {
    name: 'subscriptions',
    step: subscriptionSteps(kept),
    hears: {
      'notifications/resources/updated': (connection, params) => {
        const { uri, ...more } = withoutHopMeta(params);
        if (typeof uri !== 'string') metrics.dropped('notification_unknown');
        else kept.updated(connection, uri, ...(Object.keys(more).length === 0 ? [] : [more]));
      },
    },
    controls: { unsubscribed: ({ session, uri }) => kept.unsubscribed(session, uri) },
    get sessions() {
      return kept.sessions;
    },
    opened: (connection) => kept.again(connection),
    missed: (connection) => kept.missed(connection),
    isNeeded: (connection) => kept.isNeeded(connection),
    forgetSession: (session) => kept.forgetSession(session),
  };
}
