"""Models at the sizes that were published: names for models of the catalogue with these parameters.

Element types, batches and optimizers are ours, but lengths are those that the models were trained with unless the title says so.
Training steps compute in bfloat16, with weights, mean and variance of Adam in 32 bits beside them: 14 bytes a weight.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A model at a published size."""

    model: str  # of the catalogue
    title: str
    parameters: dict


TRAINING = {"element": "bfloat16", "optimizer": "fused_adam", "fused": 1}

PUBLISHED = {
    # 1.558 billion weights: A. Radford et al., Language Models are Unsupervised Multitask Learners, 2019, table 2.
    "gpt2_xl": Published(
        "gpt2",
        "GPT-2 XL (Radford et al. 2019), batch of 8",
        {**TRAINING, "batch": 8, "length": 1024, "layers": 48, "width": 1600, "heads": 25, "vocabulary": 50257},
    ),
    # 8.03 billion weights: Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783, 2024, table 3.
    "llama3_8b": Published(
        "llama",
        "Llama 3 8B (Llama Team 2024), one sequence of 4096 tokens",
        {
            **TRAINING,
            "batch": 1, "length": 4096, "layers": 32, "width": 4096, "heads": 32, "groups": 8, "inner": 14336,
            "vocabulary": 128256, "base": 500000.0,
        },
    ),
    # 70.6 billion weights, from the same table.
    "llama3_70b": Published(
        "llama",
        "Llama 3 70B (Llama Team 2024), one sequence of 4096 tokens",
        {
            "mode": "inference", "element": "bfloat16", "fused": 1,
            "batch": 1, "length": 4096, "layers": 80, "width": 8192, "heads": 64, "groups": 8, "inner": 28672,
            "vocabulary": 128256, "base": 500000.0,
        },
    ),
    # 46.7 billion weights, of which 12.9 compute for a token: A. Q. Jiang et al., Mixtral of Experts, arXiv 2401.04088, 2024.
    "mixtral_8x7b": Published(
        "mixtral",
        "Mixtral 8x7B (Jiang et al. 2024), one sequence of 4096 tokens",
        {
            "element": "bfloat16", "optimizer": "fused_adam",
            "batch": 1, "length": 4096, "layers": 32, "width": 4096, "heads": 32, "groups": 8, "inner": 14336,
            "experts": 8, "vocabulary": 32000, "base": 1000000.0,
        },
    ),
    # ViT-L/16, 304 million weights: A. Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021, table 1.
    "vit_l": Published(
        "vit",
        "ViT-L/16 (Dosovitskiy et al. 2021), batch of 128",
        {**TRAINING, "batch": 128, "side": 224, "patch": 16, "layers": 24, "width": 1024, "heads": 16, "classes": 1000},
    ),
    # 860 million weights: R. Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models, CVPR 2022, and the
    # configuration v1-inference.yaml of Stable Diffusion 1.5.
    "stable_diffusion": Published(
        "latent_diffusion",
        "the U-Net of Stable Diffusion 1.5 (Rombach et al. 2022), batch of 16",
        {
            "element": "bfloat16", "optimizer": "fused_adam",
            "batch": 16, "side": 64, "channels": 4, "width": 320, "levels": 4, "blocks": 2, "heads": 8, "groups": 32,
            "text": 77, "text_width": 768,
        },
    ),
    # Two towers: X. Yi et al., Sampling-Bias-Corrected Neural Modeling for Large Corpus Item Recommendations, RecSys 2019. The
    # tables are those of Criteo's click logs as MLPerf Training 3.0 has them, 204 million rows of 128.
    "two_tower_criteo": Published(
        "two_tower",
        "two towers (Yi et al. 2019) over the tables of Criteo's logs, batch of 8192",
        {
            "element": "bfloat16", "optimizer": "fused_adam",
            "batch": 8192, "width": 128, "most_rows": 40000000, "first": 1024, "second": 512, "answer": 128,
        },
    ),
}


def titles():
    """Name -> title."""
    return {name: published.title for name, published in PUBLISHED.items()}
