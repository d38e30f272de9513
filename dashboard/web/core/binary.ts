/** A JSON header and columns of numbers in one body (dashboard/server/binary.py). */

const MAGIC = 0x31435353; // "SSC1"
const TYPES = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u4: Uint32Array, u1: Uint8Array };
export type Column = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

export const binary = {
  /**
   * Returns the header; its `arrays` are typed arrays over the body.
   * @throws Error if the response is of another kind
   */
  unpack<T>(body: ArrayBuffer): T & { arrays: Column[] } {
    const view = new DataView(body);
    if (view.getUint32(0, true) !== MAGIC) throw new Error("Unexpected response from the server.");
    const length = view.getUint32(4, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 8, length)));
    let at = 8 + Math.ceil(length / 8) * 8;
    header.arrays = header.arrays.map(([type, count]: [keyof typeof TYPES, number]) => {
      const array = new TYPES[type](body, at, count);
      at += Math.ceil(array.byteLength / 8) * 8;
      return array;
    });
    return header;
  },
};
