/**
 * The parts of undici that every gateway needs. Its index loads its `fetch`, caches, mocks and WebSockets too: four times the source, 11 MB of memory and 60 ms of each start.
 * What uses these imports the index when it needs it.
 */
import type * as undici from 'undici';
import agent from 'undici/lib/dispatcher/agent.js';
import connect from 'undici/lib/core/connect.js';
import problems from 'undici/lib/core/errors.js';

export const Agent: typeof undici.Agent = agent;
export const buildConnector: typeof undici.buildConnector = connect;
export const errors: typeof undici.errors = problems;
