import { describe, expect, it } from 'vitest';
import { isLoopback } from '@omnibus/protocol';
import { describeClient, redirectHost } from './registration.ts';

const kindOf = (...uris: string[]): unknown => {
  const described = describeClient({ redirect_uris: uris });
  return 'problem' in described ? described.error : described.metadata['application_type'];
};

describe('what a client says of itself', () => {
  it.each([
    [['https://app.example/callback'], 'web'],
    [['http://127.0.0.1/callback'], 'native'],
    [['http://localhost:3118/callback'], 'native'],
    [['http://[::1]/callback'], 'native'],
    [['cursor://anysphere.cursor-mcp/oauth/callback'], 'native'],
    [['com.example.app:/callback'], 'native'],
    [['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'], 'native'],
    [['http://app.example/callback'], 'invalid_redirect_uri'],
    [['http://127.0.0.1.evil.example/'], 'invalid_redirect_uri'],
    [['http://localhost.evil.example/'], 'invalid_redirect_uri'],
    [['https://a@evil.example/'], 'invalid_redirect_uri'],
    [['https://app.example/#'], 'invalid_redirect_uri'],
    [['JavaScript:alert(1)'], 'invalid_redirect_uri'],
    [['data:text/html,x'], 'invalid_redirect_uri'],
    [['file:///etc/passwd'], 'invalid_redirect_uri'],
    [['intent://x'], 'invalid_redirect_uri'],
    [['https://app.exa\nmple/x'], 'invalid_redirect_uri'],
    [['https://app.example/ x'], 'invalid_redirect_uri'],
    [['https:\\\\app.example\\x'], 'invalid_redirect_uri'],
    [['com.app:/x\r\ny'], 'invalid_redirect_uri'],
    [['/callback'], 'invalid_redirect_uri'],
    [['https:app.example'], 'invalid_redirect_uri'],
    [['https:///app.example'], 'invalid_redirect_uri'],
    [['http:127.0.0.1/callback'], 'invalid_redirect_uri'],
    [['tel:1'], 'invalid_redirect_uri'],
    [['ms-msdt:/x'], 'invalid_redirect_uri'],
  ])('%j makes it %s', (uris, expected) => {
    expect(kindOf(...uris)).toBe(expected);
  });

  it('is taken as far as it is needed, and the rest is dropped', () => {
    expect(
      describeClient({
        redirect_uris: ['https://app.example/callback'],
        client_name: 'x'.repeat(1_000),
        scope: 'admin',
        jwks_uri: 'http://169.254.169.254/',
        grant_types: ['password'],
        logo_uri: 'http://x/',
        application_type: 'native',
        client_uri: 'javascript:alert(1)',
      }),
    ).toEqual({
      metadata: {
        redirect_uris: ['https://app.example/callback'],
        application_type: 'web',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        client_name: 'x'.repeat(200),
      },
    });
  });

  it('what it says to be null, it does not say', () => {
    expect(
      describeClient({
        redirect_uris: ['https://app.example/callback'],
        client_name: null,
        token_endpoint_auth_method: null,
        grant_types: null,
        client_uri: null,
        scope: null,
      }),
    ).toEqual(describeClient({ redirect_uris: ['https://app.example/callback'] }));
    expect(
      describeClient({ redirect_uris: null, grant_types: ['urn:ietf:params:oauth:grant-type:device_code'] }),
    ).toHaveProperty('metadata');
  });

  it('its name is read as it is written: nothing turns it around, breaks its line or hides in it', () => {
    const nameOf = (name: string): unknown => {
      const described = describeClient({ redirect_uris: ['https://app.example/callback'], client_name: name });
      return 'metadata' in described ? described.metadata['client_name'] : described;
    };
    expect(nameOf('\u202Eedoc edualC\u202C')).toBe('edoc edualC');
    expect(nameOf('Code\r\n\u2028for\u0000 you \u2067')).toBe('Code for  you');
    expect(nameOf('\u202E\u0007')).toBeUndefined();
    expect(nameOf('کد 👩‍💻')).toBe('کد 👩‍💻');
  });

  it('people are shown where an answer goes', () => {
    expect(['https://app.example:8443/x', 'http://127.0.0.1:1234/x', 'cursor://a.b/c'].map(redirectHost)).toEqual([
      'app.example:8443',
      '127.0.0.1',
      'cursor:',
    ]);
    expect(['http://127.0.0.1:1234/x', 'https://127.0.0.1/x', 'http://127.0.0.2/'].map(isLoopback)).toEqual([
      true,
      false,
      false,
    ]);
  });
});
