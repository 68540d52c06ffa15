/** What tests call of pg-native, which has no types. */
declare module 'pg-native' {
  export default class PgNative {
    connectSync(url: string): void;
    querySync(sql: string): Record<string, unknown>[];
    end(): void;
  }
}
