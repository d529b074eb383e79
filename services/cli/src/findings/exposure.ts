/** The clients that can reach the gateway, and whether it authenticates them. */
import { isOfThisMachine, type Config } from '@omnibus/config';

/** Whether only programs of this machine can connect. */
export function listensHere({ listen }: Config): boolean {
  return isOfThisMachine(listen);
}

/** Why a gateway is not started as configured: if others can reach it without authentication, the configuration must say so. */
export function exposureProblem(config: Config): string | undefined {
  if (listensHere(config) || config.auth !== undefined) return undefined;
  return `others can reach ${config.listen}, and "auth" is not configured: add "auth: { keys: { file: keys.yaml } }" and make a key with "omnibus keys create --subject NAME", or choose another way (docs/how-to/identity.md); "auth: none" lets everybody in on purpose`;
}

/** The repeated warning if all clients may use the gateway. */
export function exposureWarning(config: Config): string | undefined {
  return config.auth === 'none' && !listensHere(config)
    ? `everybody who reaches ${config.listen} may use every server, because of "auth: none"`
    : undefined;
}
