import sharp from 'sharp';

const WINDOW = 8;
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;

interface Gray {
  data: Uint8Array;
  width: number;
  height: number;
}

async function gray(image: Uint8Array): Promise<Gray> {
  const { data, info } = await sharp(image)
    .flatten({ background: '#ffffff' })
    .removeAlpha()
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/**
 * Structural similarity of two images of one size (Wang et al. 2004): the mean over windows of 8 x 8 pixels, one every
 * 4 pixels, of gray values. 1 for equal images.
 */
export async function ssim(a: Uint8Array, b: Uint8Array): Promise<number> {
  const [first, second] = await Promise.all([gray(a), gray(b)]);
  if (first.width !== second.width || first.height !== second.height)
    throw new Error(`images of ${first.width} x ${first.height} and ${second.width} x ${second.height}`);
  let [sum, count] = [0, 0];
  for (let y = 0; y + WINDOW <= first.height; y += WINDOW / 2) {
    for (let x = 0; x + WINDOW <= first.width; x += WINDOW / 2, count++)
      sum += windowSsim(first, second, x, y);
  }
  return sum / count;
}

function windowSsim(a: Gray, b: Gray, left: number, top: number): number {
  let [sumA, sumB, squaresA, squaresB, products] = [0, 0, 0, 0, 0];
  for (let y = top; y < top + WINDOW; y++) {
    for (let x = left; x < left + WINDOW; x++) {
      const [p, q] = [a.data[y * a.width + x]!, b.data[y * b.width + x]!];
      sumA += p;
      sumB += q;
      squaresA += p * p;
      squaresB += q * q;
      products += p * q;
    }
  }
  const n = WINDOW * WINDOW;
  const [meanA, meanB] = [sumA / n, sumB / n];
  const [varA, varB] = [squaresA / n - meanA ** 2, squaresB / n - meanB ** 2];
  const covariance = products / n - meanA * meanB;
  return (
    ((2 * meanA * meanB + C1) * (2 * covariance + C2)) / ((meanA ** 2 + meanB ** 2 + C1) * (varA + varB + C2))
  );
}
